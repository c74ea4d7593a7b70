// Keeps the playground for when there is no network: what was fetched last, where nothing newer can be.
const KEPT = "midpath-play"; // play.js keeps what came before this

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  event.respondWith(
    (async () => {
      const kept = await caches.open(KEPT);
      try {
        const fresh = await fetch(event.request);
        if (fresh.ok) await kept.put(event.request, fresh.clone());
        return fresh;
      } catch {
        return (await kept.match(event.request, { ignoreSearch: true })) ?? Response.error();
      }
    })(),
  );
});
