import{a,b}from"./chunk-3BTXUWYP.js";import"./chunk-WBLWCETB.js";import"./chunk-MWT6CLMO.js";import"./chunk-CNI7Z52T.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
