'use client';

import { useState } from 'react';

export default function Verify() {
  const [message, setMessage] = useState('');

  async function send(event) {
    event.preventDefault();
    setMessage('Checking…');
    const response = await fetch('/verify', { method: 'POST', body: new FormData(event.target) });
    const { verified, error } = await response.json();
    setMessage(error ?? (verified ? 'Verified' : 'Not verified: a colleague will check your photos'));
  }

  return (
    <form onSubmit={send}>
      <label>
        Photo of your document <input type="file" name="document" accept="image/jpeg,image/png" required />
      </label>
      <label>
        Selfie <input type="file" name="selfie" accept="image/jpeg" capture="user" required />
      </label>
      <button type="submit">Verify</button>
      <p role="status">{message}</p>
    </form>
  );
}
