import{c as a,d as b}from"./chunk-H6S3UZOF.js";import"./chunk-WBLWCETB.js";import"./chunk-SSLKKD7R.js";import"./chunk-JZIFB2SJ.js";import"./chunk-WOT6VMZA.js";export{a as default,b as modes};
