// Package content finds the part of a page that its readers came for, on the
// table that package clean makes of it. There are two ways:
//
//   - the article: paragraphs lend worth to what holds them, the element worth
//     most is the article, and what stands beside it or within it and is no
//     part of it is left out (the way of Mozilla's Readability);
//   - the whole: the main landmark or the body, less what frames the site and
//     small blocks that are named like something beside the content.
//
// The first is right for an article, the second for a thread, a product, a
// list, a manual, a home page. Both are tried, and their figures decide.
package content
