import{a,b}from"./chunk-T4ADEMSC.js";import"./chunk-WBLWCETB.js";import"./chunk-FFNHWJM7.js";import"./chunk-DJ7PYWNI.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
