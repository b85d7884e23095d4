/** The client closed its connection before it was answered. There is nobody to tell. */
export class ClientLeft extends Error {
  constructor() {
    super('The client left before it was answered');
    this.name = 'ClientLeft';
  }
}
