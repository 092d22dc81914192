import{a,b}from"./chunk-25QHUMIN.js";import"./chunk-WBLWCETB.js";import"./chunk-OM2OM2MU.js";import"./chunk-TJ7T23O4.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
