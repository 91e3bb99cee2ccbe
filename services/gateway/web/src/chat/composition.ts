// Input methods: the Enter that takes a candidate is no Enter of the field.

/** Composition knows whether a text is being composed. Some browsers say so on
 * the key, some end the composition before the key comes: the end counts one task
 * later. */
export class Composition {
  private composing = false

  start(): void {
    this.composing = true
  }

  end(): void {
    setTimeout(() => (this.composing = false))
  }

  /** takes says that a key belongs to the input method. */
  takes(event: { isComposing: boolean }): boolean {
    return event.isComposing || this.composing
  }
}
