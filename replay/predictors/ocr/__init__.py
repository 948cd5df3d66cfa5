"""RapidOCR as a predictor (extra `ocr`)."""
