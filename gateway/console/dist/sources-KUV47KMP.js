import{a,b,c,d}from"./chunk-ATMB46EH.js";import"./chunk-WBLWCETB.js";import"./chunk-5F42GXP3.js";import"./chunk-5C2YZDNV.js";export{c as Breaker,a as default,b as sourceState,d as sync};
