// Receives webhooks: verifies each request, stores its event once, and answers. A worker reads what is stored.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { link, open, unlink } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const tolerance = 300; // seconds
const maxBody = 64 << 10;
const minKey = 24;

// decodeKeys returns the keys of secrets. It refuses an empty or short one: others could sign with it, too.
function decodeKeys(secrets) {
  const keys = secrets.map(secret => Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
  if (keys.some(key => key.length < minKey)) throw new Error("secret");
  return keys;
}

// verify throws unless one of the secrets signed the request, at most five minutes from now.
// body is the body as received, a Buffer; now is in seconds since 1970.
export function verify(secrets, headers, body, now) {
  const keys = decodeKeys(secrets);
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures = "" } = headers;
  if (!id || !/^[0-9]+$/.test(timestamp ?? "")) throw new Error("headers");
  if (Math.abs(now - Number(timestamp)) > tolerance) throw new Error("timestamp");
  for (const key of keys) {
    const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
    const want = Buffer.from(`v1,${digest}`);
    for (const signature of signatures.split(" ").map(text => Buffer.from(text))) {
      if (signature.length === want.length && timingSafeEqual(signature, want)) return;
    }
  }
  throw new Error("signature");
}

// store writes the event to the disk, unless it is there. Nobody sees a part of a file.
// With a database, use a table whose primary key is the id.
async function store(inbox, id, body) {
  const temporary = join(inbox, `.${randomUUID()}`);
  const file = await open(temporary, "wx");
  try {
    await file.writeFile(body);
    await file.sync();
    await link(temporary, join(inbox, `${basename(id)}.json`));
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  } finally {
    await file.close();
    await unlink(temporary);
  }
}

async function read(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length <= maxBody) parts.push(part);
  }
  return length <= maxBody ? Buffer.concat(parts) : null;
}

// receive returns the status: 204 when the event is stored, however often it arrives.
async function receive(request, secrets, inbox) {
  const body = await read(request);
  if (body === null) return 413;
  try {
    verify(secrets, request.headers, body, Date.now() / 1000);
  } catch {
    return 401;
  }
  await store(inbox, request.headers["webhook-id"], body);
  return 204;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const inbox = process.env.INBOX; // a folder that exists
  const secrets = (process.env.WEBHOOK_SECRET ?? "").split(",");
  try {
    decodeKeys(secrets);
  } catch {
    console.error("WEBHOOK_SECRET is missing, or has an invalid secret: separate secrets by commas, with none after the last");
    process.exit(1);
  }
  const server = createServer((request, response) => {
    receive(request, secrets, inbox).catch(error => {
      console.error(error);
      return 500; // it is sent again
    }).then(status => response.writeHead(status).end());
  });
  server.requestTimeout = 10_000;
  server.listen(Number(process.env.PORT), "127.0.0.1", () => {
    const { address, port } = server.address();
    console.log(`listening on ${address}:${port}`);
  });
}
