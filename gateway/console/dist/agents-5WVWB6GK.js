import{b as I,c as M}from"./chunk-Z32XCBDC.js";import{a as c}from"./chunk-ZLMIOOQB.js";import{a as T,b as C,c as F,g as x,j as f}from"./chunk-K23Q4Y7X.js";import{$ as y,Ia as R,Ka as w,O as b,R as v,ca as n,da as k,ha as A,k as p,ma as _,oa as $,sa as P,wa as m}from"./chunk-DCYRGVZG.js";import"./chunk-WOT6VMZA.js";function D({params:r}){let{rows:a,more:u,problem:o}=C("/v1/agents?page_size=200","agents"),l=x("24h"),d=T(`/v1/usage?group_by=agent&since=${l}`),t=new Map((d.data?.rows??[]).map(e=>[e.key,e])),s=e=>{let i=t.get(e);return i&&c(i.turns)?c(i.failed)/c(i.turns):0},g=r.get("order")==="failed",q=a&&g?[...a].sort((e,i)=>s(i.id)-s(e.id)):a;return n(P,{title:"Agents",wide:!0,api:"/v1/agents",actions:b("sessions.agents.create")&&n("button",{type:"button",onClick:()=>w({new:"1"}),children:"New agent"}),children:[n("p",{class:"dim flow",children:[n("span",{children:"Turns, failures and cost are of the last 24 hours."})," ",n("a",{href:g?"/agents":"/agents?order=failed",children:g?"Order by name":"Most failures first"})]}),o&&n(m,{of:o}),d.problem&&n("p",{class:"note",children:["The figures cannot be read: ",d.problem.message]}),(a||!o)&&n(F,{label:"List of agents",rows:q,id:e=>e.id,href:e=>`/agents/${e.id}`,more:u,empty:"There is no agent yet. Make one from a template.",columns:[{name:"Agent",cell:e=>n("span",{class:"whole",children:e.display_name||e.id})},{name:"What it does",cell:e=>n("span",{class:"clip",children:y(e.description)}),narrow:"hide"},{name:"Model",cell:e=>n("code",{class:"whole",children:e.model||"default"})},{name:"Tools",cell:e=>n("span",{class:"clip",children:[...e.tools,...e.agents.map(i=>`agent ${i}`)].join(", ")||n("span",{class:"dim",children:"none"})})},{name:"Revision",cell:e=>n("span",{class:"figure",children:e.revision}),narrow:"hide"},{name:"Turns",cell:e=>n("a",{class:"figure",href:`/turns?agent_id=${e.id}`,children:t.has(e.id)?c(t.get(e.id).turns):d.problem?"show":0})},{name:"Failed",cell:e=>s(e.id)?n("a",{class:"bad-text figure",href:`/turns?agent_id=${e.id}&status=failed`,children:[c(t.get(e.id).failed)," (",Math.round(s(e.id)*100)," %)"]}):n("span",{class:"dim",children:"–"})},{name:"Cost",cell:e=>n($,{micros:t.get(e.id)?.cost_micros}),narrow:"hide"},{name:"Changed",cell:e=>n(_,{at:e.update_time})}]}),r.get("new")&&n(N,{onClose:()=>w({new:""})})]})}var h=[["Assistant","Answers, with tools that only read.",`description: Answers questions.
instructions: |
  Be brief. Say when you do not know.
tools: ["calculator__*"]
`],["Careful worker","Asks a person before each call that changes something.",`description: Does what it is asked, and asks a person first where it changes something.
tools: ["*"]
on_unknown_outcome: park
approvals:
- name: changes
  effects: [idempotent, once]
  reason: It changes something.
  allow_requester: true
`],["Answers from documents","Searches banks and cites them.",`description: Answers from documents, with citations.
instructions: |
  Answer only from what you find, and cite it.
banks: []  # ids of banks, see the page Knowledge
`],["Front desk","Passes on to other agents.",`description: Finds the agent that fits.
strategy: route
agents: []  # ids of agents
`],["JSON answers","Answers in a form that programs read.",`description: Answers as JSON.
output_schema:
  type: object
  required: [answer]
  properties:
    answer: {type: string}
`]],S=(r,a)=>`kind: agent
id: ${r}
${h[a][2]}`;function N({onClose:r}){let a=p(0),u=p("my-agent"),o=p(S("my-agent",0)),l=p(null),d=async()=>{l.value=null;try{let{applied:t}=await I(o.value),s=t.find(g=>g.kind==="agent")??t[0];k("ok",`${s.kind} ${s.id} was ${s.action}.${s.warning?` ${s.warning}`:""}`),v(),R(`/agents/${s.id}`)}catch(t){l.value=t}};return n(A,{title:"New agent",wide:!0,onClose:r,children:n("form",{onSubmit:t=>{t.preventDefault(),d()},children:[n(f,{label:"Template",hint:h[a.value][1],children:n("select",{onChange:t=>{a.value=t.currentTarget.selectedIndex,o.value=S(u.value,a.value)},children:h.map(([t])=>n("option",{children:t},t))})}),n(f,{label:"Id",hint:"Lower-case letters, digits, - and _. It cannot be changed.",children:n("input",{required:!0,pattern:"[a-z][a-z0-9_\\-]*",maxLength:63,value:u.value,onInput:t=>{o.value=o.value.replace(/^id: .*$/m,`id: ${t.currentTarget.value}`),u.value=t.currentTarget.value}})}),n(M,{label:"Definition of the agent",text:o}),l.value&&n(m,{of:l.value}),n("div",{class:"buttons",children:[n("button",{type:"button",class:"quiet",onClick:r,children:"Cancel"}),n("button",{type:"submit",children:"Create"})]})]})})}export{D as default};
