import{a,b,c,d}from"./chunk-45LO4WZX.js";import"./chunk-WBLWCETB.js";import"./chunk-CHWEXOOW.js";import"./chunk-TFOBYEGM.js";export{c as Breaker,a as default,b as sourceState,d as sync};
