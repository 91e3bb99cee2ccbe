// Package cleanse keeps from a model what a page holds for nobody's eyes, and
// takes the force from text that imitates the markup of a chat.
//
// Hidden tells elements that readers of a page do not see. Text leaves out
// characters without a shape, and puts a middle dot into what a model might take
// for the end of a turn, another speaker or a call of a tool: it stays readable,
// so that pages about prompts can still be read, and is none any more. Address
// does the same to an address, which leads where it led.
//
// This lowers a risk and ends none: that text is untrusted is decided by where
// it came from, never by what it says.
package cleanse
