"""The API's description (OpenAPI 3.1) and the reference page that is made from it."""
