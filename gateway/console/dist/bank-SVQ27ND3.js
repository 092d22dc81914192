import{a,b}from"./chunk-XJU5AZCS.js";import"./chunk-WBLWCETB.js";import"./chunk-DTNA6ILU.js";import"./chunk-6636V7F3.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
