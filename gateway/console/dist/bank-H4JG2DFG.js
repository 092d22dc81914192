import{a,b}from"./chunk-NXN2CZ4S.js";import"./chunk-WBLWCETB.js";import"./chunk-5F42GXP3.js";import"./chunk-5C2YZDNV.js";export{b as Passages,a as default};
