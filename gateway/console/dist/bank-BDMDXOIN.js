import{a,b}from"./chunk-3UKPTR4F.js";import"./chunk-WBLWCETB.js";import"./chunk-V6QXHACX.js";import"./chunk-YOEAWGEL.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
