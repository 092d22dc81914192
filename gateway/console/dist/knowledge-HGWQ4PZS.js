import{c as a,d as b}from"./chunk-7ZBCBMYZ.js";import"./chunk-WBLWCETB.js";import"./chunk-NDJJHE2B.js";import"./chunk-V7CLS5XS.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
