import{a,b}from"./chunk-PB5YQI2D.js";import"./chunk-WBLWCETB.js";import"./chunk-MQRKLH55.js";import"./chunk-54CULNVI.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
