// Options are searched for without their "-", which means "not" to the search.
document.addEventListener("input", ({target}) => {
  if (target.matches("[data-md-component=search-query]"))
    target.value = target.value.replace(/(^|\s)-+/g, "$1");
});
