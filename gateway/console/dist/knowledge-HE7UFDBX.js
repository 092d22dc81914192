import{c as a,d as b}from"./chunk-SPJMMABA.js";import"./chunk-WBLWCETB.js";import"./chunk-MUAITRGI.js";import"./chunk-KUY2VNJW.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
