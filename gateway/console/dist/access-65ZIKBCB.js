import{a,b}from"./chunk-WKNQTFM2.js";import"./chunk-XGXBQ4YS.js";import"./chunk-WBLWCETB.js";import"./chunk-5F42GXP3.js";import"./chunk-5C2YZDNV.js";export{b as Verify,a as default};
