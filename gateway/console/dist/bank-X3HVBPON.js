import{a,b}from"./chunk-SEH3A6WK.js";import"./chunk-WBLWCETB.js";import"./chunk-72SG5WJT.js";import"./chunk-MCIPBVE7.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
