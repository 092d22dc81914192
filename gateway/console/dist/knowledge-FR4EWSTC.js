import{c as a,d as b}from"./chunk-TUXTAGFZ.js";import"./chunk-ZLMIOOQB.js";import"./chunk-K23Q4Y7X.js";import"./chunk-DCYRGVZG.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
