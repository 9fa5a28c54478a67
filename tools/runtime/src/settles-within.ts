/** Resolves with true when `promise` settles within `ms`, else with false. Its timer does not keep the process alive. */
export function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), ms).unref();
    const onSettled = () => {
      clearTimeout(late);
      resolve(true);
    };
    promise.then(onSettled, onSettled);
  });
}
