import{a,b}from"./chunk-SRP3N5VX.js";import"./chunk-WBLWCETB.js";import"./chunk-ZLI5BU4M.js";import"./chunk-W5CSMVFP.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
