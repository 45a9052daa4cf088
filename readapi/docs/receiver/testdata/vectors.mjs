// Verifies the vectors on standard input with receiver.mjs. Prints each one's reason, or an empty text.
import { readFileSync } from "node:fs";
import { verify } from "../receiver.mjs";

const reason = vector => {
  try {
    verify(vector.secrets, vector.headers, Buffer.from(vector.body), vector.now);
  } catch (error) {
    return error.message;
  }
  return "";
};

const { vectors } = JSON.parse(readFileSync(0));
console.log(JSON.stringify(Object.fromEntries(vectors.map(vector => [vector.name, reason(vector)]))));
