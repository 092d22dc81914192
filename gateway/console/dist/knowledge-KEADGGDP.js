import{c as a,d as b}from"./chunk-T4ADEMSC.js";import"./chunk-WBLWCETB.js";import"./chunk-FFNHWJM7.js";import"./chunk-DJ7PYWNI.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
