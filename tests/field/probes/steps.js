// What a reader does, each followed by what then shows. Files are read later than events end, so that steps wait.
(async () => {
const told = {}, texts = (query) => [...document.querySelectorAll(query)].map((one) => one.textContent);
const names = () => texts("tr.own > th > button");
const column = (key) => [...document.querySelectorAll("#board tr.line")].map((row) => row.cells[key].textContent);
const set = (control, value, kind) => { control.value = value; control.dispatchEvent(new Event(kind)); };
const press = (key) => document.querySelector(`[data-key="${key}"] button`).click();
const soon = () => new Promise((done) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = done;
  channel.port2.postMessage(0);
});
const settled = async () => { while (document.getElementById("drop").ariaBusy === "true") await soon(); };
const drop = async (...files) => {
  const held = new DataTransfer();
  files.forEach(([name, text]) => held.items.add(new File([text], name)));
  dispatchEvent(new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
  await settled();
};
const refused = () => document.getElementById("refused").textContent;
BODY
document.body.dataset.probe = JSON.stringify(told);
})();
