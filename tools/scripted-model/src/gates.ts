/** Named gates. A released gate stays open, whether or not someone waited for it. */
export type Gates = { wait: (gate: string) => Promise<void>; release: (gate: string) => void };

/** Creates gates that live as long as the model. A waiter whose connection is gone is simply forgotten. */
export function createGates(): Gates {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  function gateOf(name: string): PromiseWithResolvers<void> {
    const gate = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, gate);
    return gate;
  }
  return { wait: (name) => gateOf(name).promise, release: (name) => gateOf(name).resolve() };
}
