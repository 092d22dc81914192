import"./chunk-CHWEXOOW.js";import{Q as e,ja as o}from"./chunk-TFOBYEGM.js";function t({id:r}){return e(o,{title:"Shared conversation",children:e("p",{class:"dim",children:r})})}export{t as default};
