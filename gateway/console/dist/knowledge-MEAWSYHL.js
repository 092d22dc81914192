import{c as a,d as b}from"./chunk-SEH3A6WK.js";import"./chunk-WBLWCETB.js";import"./chunk-72SG5WJT.js";import"./chunk-MCIPBVE7.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
