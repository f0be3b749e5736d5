// Pictures are made smaller in the browser, before they are sent over a slow line: the server keeps no more of them.
// Where it cannot be done they are sent as they are. Everything works without it too.
"use strict";

{
  const QUALITY = 0.9;
  const SMALL = 1024 * 1024; // Bytes that are not worth the work.

  async function shrunk(file, side) {
    const bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
    const scale = Math.min(1, side / Math.max(bitmap.width, bitmap.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(bitmap.width * scale));
    canvas.height = Math.max(1, Math.round(bitmap.height * scale));
    const context = canvas.getContext("2d");
    context.fillStyle = "white";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    bitmap.close();
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
    return blob && blob.size < file.size ? new File([blob], "picture.jpg", { type: blob.type }) : file;
  }

  async function take(input, { side, bytes, tooLarge }) {
    const [file] = input.files;
    input.setCustomValidity("");
    if (!file || file.size <= SMALL) return;
    let sent = file;
    try {
      sent = await shrunk(file, Number(side));
      if (input.files[0] !== file) return; // Another was chosen meanwhile.
      if (sent !== file) {
        const transfer = new DataTransfer();
        transfer.items.add(sent);
        input.files = transfer.files;
      }
    } catch {
      sent = file; // No picture that this browser can read. The server will say what is wrong with it.
    }
    if (sent.size > Number(bytes)) {
      input.setCustomValidity(tooLarge);
      input.reportValidity();
    }
  }

  for (const form of document.querySelectorAll("form[data-pictures]")) {
    const button = form.querySelector("button.button");
    let underWay = 0;
    for (const input of form.querySelectorAll("input[type=file]")) {
      input.addEventListener("change", async () => {
        underWay += 1;
        button.disabled = true;
        try {
          await take(input, form.dataset);
        } finally {
          underWay -= 1;
          button.disabled = underWay > 0;
        }
      });
    }
  }
}
