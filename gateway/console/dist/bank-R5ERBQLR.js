import{a,b}from"./chunk-V2HFR7EU.js";import"./chunk-WBLWCETB.js";import"./chunk-6MDKZYBC.js";import"./chunk-OGMBMIGQ.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
