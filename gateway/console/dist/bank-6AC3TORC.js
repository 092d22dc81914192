import{a,b}from"./chunk-H6S3UZOF.js";import"./chunk-WBLWCETB.js";import"./chunk-SSLKKD7R.js";import"./chunk-JZIFB2SJ.js";import"./chunk-WOT6VMZA.js";export{b as Passages,a as default};
