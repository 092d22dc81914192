import{c as a,d as b}from"./chunk-PDW4W4AB.js";import"./chunk-WBLWCETB.js";import"./chunk-6YOOOVSZ.js";import"./chunk-QU6KIIVC.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
