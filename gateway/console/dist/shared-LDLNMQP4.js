import"./chunk-ARNBYKPP.js";import{L as e,aa as o}from"./chunk-K3APO3VQ.js";function t({id:r}){return e(o,{title:"Shared conversation",children:e("p",{class:"dim",children:r})})}export{t as default};
