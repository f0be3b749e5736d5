// A round trip with a client made from the description. It is compiled strictly, so that types are held to it too.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<string, string> };

const client = createClient<paths>({
  baseUrl: process.env.BASE_URL,
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
});

function same(found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${found} instead of ${wanted}`);
}

function done<T>(answer: { data?: { data: T }; error?: components["schemas"]["Problem"] }): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  return answer.data.data;
}

const amount = 999_999_999_999_999;
const { id } = done(await client.POST("/api/v1/remote-payments", {
  body: { amount, currency: "USD", note: null, metadata: { order: 7, lines: [{ sku: "a" }] } },
  params: { header: { "Idempotency-Key": `trip-${process.env.RUN}` } },
}));
const path = { id };
same(done(await client.GET("/api/v1/remote-payments/{id}", { params: { path } })).status, "pending");
same(done(await client.POST("/api/v1/test/remote-payments/{id}/pay", { params: { path }, body: {} })).status, "paid");
const payment = done(await client.GET("/api/v1/remote-payments/{id}", { params: { path } }));
same(payment.amount, amount);
same(payment.metadata.order, 7);
const refund = done(await client.POST("/api/v1/remote-payments/{id}/refunds", { params: { path }, body: { amount: 98 } }));
same(done(await client.GET("/api/v1/refunds/{id}", { params: { path: refund } })).amount, 98);
const listed = done(await client.GET("/api/v1/remote-payments", { params: { query: { limit: 1, status: "paid" } } }));
same(listed.items[0]?._id, id);
same(listed.items[0]?.refundedAmount, 98);
const events = done(await client.GET("/api/v1/events", { params: { query: { limit: 100 } } }));
const seen: string[] = [];
for (const event of events.items) {
  // The type tells what the event holds.
  if (event.type === "refund.created") seen.push(`${event.data.refund.paymentId} ${event.data.refund.amount}`);
  else seen.push(`${event.data._id} ${event.data.status}`);
}
same(seen.slice(-2).join(), `${id} paid,${id} 98`);
const missing = await client.GET("/api/v1/remote-payments/{id}", { params: { path: { id: "1234567890123456" } } });
same(missing.error?.code, "not_found");
