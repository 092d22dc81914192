import"./chunk-K7V22RY5.js";import{L as e,aa as o}from"./chunk-QHIBB6OK.js";function t({id:r}){return e(o,{title:"Shared conversation",children:e("p",{class:"dim",children:r})})}export{t as default};
