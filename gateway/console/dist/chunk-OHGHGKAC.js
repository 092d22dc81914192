var t={approval:"Approval needed",input:"Question",client_tool:"A client runs this tool",resolution:"Did this call happen?",authorization:"Login needed"};export{t as a};
