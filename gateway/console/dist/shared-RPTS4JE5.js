import"./chunk-5F42GXP3.js";import{S as e,ma as o}from"./chunk-5C2YZDNV.js";function t({id:r}){return e(o,{title:"Shared conversation",children:e("p",{class:"dim",children:r})})}export{t as default};
