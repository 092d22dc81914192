import{c as a,d as b}from"./chunk-NXN2CZ4S.js";import"./chunk-WBLWCETB.js";import"./chunk-5F42GXP3.js";import"./chunk-5C2YZDNV.js";export{a as default,b as modes};
