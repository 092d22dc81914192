import{c as a,d as b}from"./chunk-ZKWFNEGM.js";import"./chunk-WBLWCETB.js";import"./chunk-IZV74RAK.js";import"./chunk-7GNE3PLI.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
