import{a,b}from"./chunk-7ZBCBMYZ.js";import"./chunk-WBLWCETB.js";import"./chunk-NDJJHE2B.js";import"./chunk-V7CLS5XS.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
