import{a,b}from"./chunk-ZKWFNEGM.js";import"./chunk-WBLWCETB.js";import"./chunk-IZV74RAK.js";import"./chunk-7GNE3PLI.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
