import { byId, find, notOnDisk, setText } from './dom.ts';

/** Dialog for taking a photo. */

/** Messages for the errors of getUserMedia (Media Capture and Streams section 10.2). */
const faults: Readonly<Record<string, string>> = {
  NotAllowedError:
    'The browser blocks the camera for this page. Allow it in the address bar, or choose a file.',
  NotFoundError: 'No camera was found. Choose a file instead.',
  NotReadableError: 'Another program uses the camera. Close it there, or choose a file.',
};

const jpegQuality = 0.95;
const dialog = find(document, '#camera', HTMLDialogElement);
const video = find(document, '#viewfinder', HTMLVideoElement);
const turn = byId('turn');

let stream: MediaStream | undefined;
/** The preferred camera: the front camera at first. */
let facing: 'user' | 'environment' = 'user';
let deliver: (photo: File) => void = () => {};

byId('snap').addEventListener('click', snap);
byId('close-camera').addEventListener('click', () => dialog.close());
turn.addEventListener('click', () => {
  facing = facing === 'user' ? 'environment' : 'user';
  void start();
});
// Listens for `close`, because Escape closes the dialog without a click on the button.
dialog.addEventListener('close', stop);

/** Returns false on insecure origins, because browsers allow cameras only on HTTPS and localhost. */
export const hasCamera = (): boolean => navigator.mediaDevices !== undefined;

export async function openCamera(title: string, onPhoto: (photo: File) => void): Promise<void> {
  byId('camera-title').textContent = title;
  deliver = onPhoto;
  dialog.showModal();
  await start();
}

async function start(): Promise<void> {
  stop();
  setText(byId('camera-fault'), undefined);
  showViewfinder(true);
  try {
    stream = await navigator.mediaDevices.getUserMedia({
      video: { facingMode: facing, width: { ideal: 1920 }, height: { ideal: 1080 } },
    });
    // The user may have closed the dialog while the browser asked for permission.
    if (!dialog.open) return stop();
    video.srcObject = stream;
    video.classList.toggle('mirrored', facing === 'user');
    await video.play();
    const devices = await navigator.mediaDevices.enumerateDevices();
    turn.hidden = devices.filter(({ kind }) => kind === 'videoinput').length < 2;
  } catch (error) {
    const { name, message } = error as Error;
    setText(byId('camera-fault'), faults[name] ?? message);
    showViewfinder(false);
  }
}

function showViewfinder(shown: boolean): void {
  video.hidden = !shown;
  byId('snap').hidden = !shown;
}

function stop(): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = undefined;
  video.srcObject = null;
}

/** Takes a photo. Only the viewfinder is mirrored, not the photo. */
async function snap(): Promise<void> {
  const { videoWidth, videoHeight } = video;
  if (stream === undefined || videoWidth === 0) return;
  const canvas = new OffscreenCanvas(videoWidth, videoHeight);
  canvas.getContext('2d')?.drawImage(video, 0, 0);
  const photo = await canvas.convertToBlob({ type: 'image/jpeg', quality: jpegQuality });
  deliver(notOnDisk(new File([photo], 'camera.jpg', { type: photo.type })));
  dialog.close();
}
