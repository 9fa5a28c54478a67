/** The longest side of an image that Claude Code passes on to the model (2.1.330). */
const MAX_SIDE_LENGTH = 2_000;

/** Draws a picture anew, no larger than Claude sees it. Returns null where the browser cannot read it. */
export async function redrawn(file: Blob, mediaType: 'image/png' | 'image/jpeg'): Promise<Uint8Array | null> {
  const picture = await createImageBitmap(file).catch(() => null);
  if (picture === null) return null;
  const scale = Math.min(1, MAX_SIDE_LENGTH / Math.max(picture.width, picture.height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(picture.width * scale)),
    Math.max(1, Math.round(picture.height * scale)),
  );
  const place = canvas.getContext('2d');
  if (place === null) return null;
  if (mediaType === 'image/jpeg') {
    place.fillStyle = 'white'; // a JPEG has no transparency; without it, that would be black
    place.fillRect(0, 0, canvas.width, canvas.height);
  }
  place.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  return new Uint8Array(await (await canvas.convertToBlob({ type: mediaType, quality: 0.9 })).arrayBuffer());
}
