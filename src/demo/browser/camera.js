import { byId, find, tell } from './dom.js';

/** What getUserMedia's errors mean (Media Capture and Streams section 10.2), and what to do. */
const faults = /** @type {Readonly<Record<string, string>>} */ ({
  NotAllowedError:
    'The browser does not let this page use the camera. Allow it in the address bar, or choose a file.',
  NotFoundError: 'No camera was found. Choose a file instead.',
  NotReadableError: 'Another program uses the camera. Close it there, or choose a file.',
});

const quality = 0.95;

/** The dialog that takes a photo. */
export class Camera {
  #dialog = find(document, '#camera', HTMLDialogElement);
  #video = find(document, '#viewfinder', HTMLVideoElement);
  #turn = byId('turn');
  /** @type {MediaStream | undefined} */
  #stream;
  /** Towards the person first, as for a selfie. */
  #facing = 'user';
  /** @type {(photo: File) => void} */
  #give = () => {};

  constructor() {
    byId('snap').addEventListener('click', () => this.#snap());
    byId('close-camera').addEventListener('click', () => this.#dialog.close());
    this.#turn.addEventListener('click', () => {
      this.#facing = this.#facing === 'user' ? 'environment' : 'user';
      void this.#start();
    });
    // Also by Escape: the camera's light must go out.
    this.#dialog.addEventListener('close', () => this.#stop());
  }

  /** Browsers give cameras to pages of secure origins only: HTTPS or this very machine. */
  static get available() {
    return navigator.mediaDevices !== undefined;
  }

  /**
   * @param {string} title
   * @param {(photo: File) => void} give
   */
  async open(title, give) {
    byId('camera-title').textContent = title;
    this.#give = give;
    this.#dialog.showModal();
    await this.#start();
  }

  async #start() {
    this.#stop();
    tell(byId('camera-fault'), undefined);
    try {
      const video = { facingMode: this.#facing, width: { ideal: 1920 }, height: { ideal: 1080 } };
      const stream = await navigator.mediaDevices.getUserMedia({ video });
      this.#stream = stream;
      // Closed while the browser was asking for leave.
      if (!this.#dialog.open) return this.#stop();
      this.#video.srcObject = stream;
      this.#video.classList.toggle('mirrored', this.#facing === 'user');
      await this.#video.play();
      const devices = await navigator.mediaDevices.enumerateDevices();
      this.#turn.hidden = devices.filter(({ kind }) => kind === 'videoinput').length < 2;
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      tell(byId('camera-fault'), faults[name] ?? message);
    }
  }

  #stop() {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#stream = undefined;
    this.#video.srcObject = null;
  }

  /** The picture as the camera gave it; only the viewfinder is mirrored. */
  #snap() {
    const { videoWidth: width, videoHeight: height } = this.#video;
    if (this.#stream === undefined || width === 0) return;
    const canvas = Object.assign(document.createElement('canvas'), { width, height });
    canvas.getContext('2d')?.drawImage(this.#video, 0, 0);
    canvas.toBlob(
      (blob) => {
        if (blob !== null) this.#give(new File([blob], 'camera.jpg', { type: blob.type }));
        this.#dialog.close();
      },
      'image/jpeg',
      quality,
    );
  }
}
