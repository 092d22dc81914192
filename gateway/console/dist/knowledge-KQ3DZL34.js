import{c as a,d as b}from"./chunk-25QHUMIN.js";import"./chunk-WBLWCETB.js";import"./chunk-OM2OM2MU.js";import"./chunk-TJ7T23O4.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
