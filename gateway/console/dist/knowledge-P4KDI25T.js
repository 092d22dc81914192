import{c as a,d as b}from"./chunk-DTBDTCOX.js";import"./chunk-WBLWCETB.js";import"./chunk-UZ2PANUN.js";import"./chunk-IYZIZAFE.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
