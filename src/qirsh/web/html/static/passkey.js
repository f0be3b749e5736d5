// Passkeys. A form says in `data-passkey`, as JSON, what to ask the browser for; the answer goes into its field `passkey`,
// and the form is sent. What is marked `data-passkey-offer` stays hidden where there are no scripts or no passkeys.
"use strict";

{
  const FIELDS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

  const decode = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));

  const encode = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer)))
      .replaceAll("+", "-")
      .replaceAll("/", "_")
      .replaceAll("=", "");

  const withBytes = (known) => ({ ...known, id: decode(known.id) });

  function parsed(options) {
    const parse = options.rp ? "parseCreationOptionsFromJSON" : "parseRequestOptionsFromJSON";
    if (PublicKeyCredential[parse]) return PublicKeyCredential[parse](options);
    const own = { ...options, challenge: decode(options.challenge) };
    if (own.user) own.user = withBytes(own.user);
    for (const list of ["allowCredentials", "excludeCredentials"]) {
      if (own[list]) own[list] = own[list].map(withBytes);
    }
    return own;
  }

  // Its own toJSON is left alone: some password managers hand out an object on which it fails.
  function encoded(credential) {
    const response = {};
    for (const field of FIELDS) {
      if (credential.response[field]) response[field] = encode(credential.response[field]);
    }
    return JSON.stringify({ id: credential.id, rawId: encode(credential.rawId), type: credential.type, response });
  }

  async function ask(form) {
    const options = JSON.parse(form.dataset.passkey);
    const publicKey = parsed(options);
    const asked = options.rp ? navigator.credentials.create({ publicKey }) : navigator.credentials.get({ publicKey });
    form.elements.passkey.value = encoded(await asked);
    form.submit();
  }

  for (const form of window.PublicKeyCredential ? document.querySelectorAll("form[data-passkey]") : []) {
    const failed = form.querySelector("[data-passkey-failed]");
    const button = form.querySelector("[data-passkey-button]");
    for (const offer of form.querySelectorAll("[data-passkey-offer]")) offer.hidden = false;
    button.addEventListener("click", async () => {
      button.disabled = true;
      if (failed) failed.hidden = true;
      try {
        await ask(form);
      } catch {
        // Mostly the person has thought better of it. Everything else on the page still works.
        if (failed) failed.hidden = false;
        button.disabled = false;
      }
    });
  }
}
