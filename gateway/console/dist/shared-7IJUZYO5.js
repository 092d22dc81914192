import"./chunk-K67SQYE6.js";import{O as e,ea as o}from"./chunk-K7ZAZQBO.js";function t({id:r}){return e(o,{title:"Shared conversation",children:e("p",{class:"dim",children:r})})}export{t as default};
